extern "C" __global__ void k_add(const float*x,const float*y,float*z,int n){int i=blockIdx.x*blockDim.x+threadIdx.x;
 if(i<n)
  z[i]=x[i]+y[i];}
extern "C" __global__ void k_str(const float*x,const float*y,float*z,int n){int i=blockIdx.x*blockDim.x+threadIdx.x;
 float v=x[(i*33)&(n-1)];
 z[i]=v;}
extern "C" __global__ void k_bank(const float*x,const float*y,float*z,int n){__shared__ float s[32*256];int t=threadIdx.x;
 s[(t*32)&8191]=x[t];
 __syncthreads();
 z[blockIdx.x*blockDim.x+t]=s[((t^1)*32)&8191];}
extern "C" __global__ void k_div(const float*x,const float*y,float*z,int n){int i=blockIdx.x*blockDim.x+threadIdx.x;float a=x[i];
 int m=(i&1)?10:3;
#pragma unroll 1
 for(int k=0;k<m;k++)
  a=a*1.5f+y[k];
 z[i]=a;}
